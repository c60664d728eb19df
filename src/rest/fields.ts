// What is asked of each type, under the keys of the REST interface and in its order.

/** A user without accounts. */
export const userFields = `
  id
  created_at: createdAt
  updated_at: updatedAt
  name
  email
  phone
  tenant_app_id: tenantAppId`

/** A user with accounts. */
export const fullUserFields = `${userFields}
  accounts {
    id
    user_platform: platform
    platform_account_id: platformAccountId
    display_name: displayName
  }`

/** A profile with its emails. */
export const profileFields = `
  id
  user_platform: platform
  username
  url
  gender
  platform_account_id: platformAccountId
  full_name: fullName
  first_name: firstName
  last_name: lastName
  nick_name: nickName
  display_name: displayName
  description
  profile_picture_url: profilePictureUrl
  date_of_birth: dateOfBirth
  category
  website_url: websiteUrl
  country
  emails {
    value
    type
    is_verified: isVerified
    is_primary: isPrimary
    id
    created_at: createdAt
    updated_at: updatedAt
    profile_id: profileId
  }
  phone_numbers: phoneNumbers
  addresses
  followers_count: followersCount
  following_count: followingCount
  subscribers_count: subscribersCount
  contents_count: contentsCount
  watch_time_in_hours: watchTimeInHours
  joined_at: joinedAt
  verified`

/** A job. */
export const jobFields = `
  id
  status
  job_type: jobType
  payload
  result
  attempts
  created_at: createdAt
  updated_at: updatedAt`
